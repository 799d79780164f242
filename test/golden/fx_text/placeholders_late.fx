graph():
    %x : [num_users=1] = placeholder[target=x]
    %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
    %y : [num_users=1] = placeholder[target=y]
    %add : [num_users=1] = call_function[target=torch.add](args = (%relu, %y), kwargs = {})
    return add