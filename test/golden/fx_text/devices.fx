graph():
    %x : [num_users=1] = placeholder[target=x]
    %to : [num_users=1] = call_method[target=to](args = (%x, cpu), kwargs = {})
    %to_1 : [num_users=1] = call_method[target=to](args = (%to, cuda:1), kwargs = {})
    %to_2 : [num_users=1] = call_method[target=to](args = (%to_1, cpu), kwargs = {})
    return [to_2, device(type='cuda', index=1)]