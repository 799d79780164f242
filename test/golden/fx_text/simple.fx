graph():
    %x : [num_users=1] = placeholder[target=x]
    %y : [num_users=1] = placeholder[target=y](default=2.5)
    %add : [num_users=1] = call_function[target=torch.add](args = (%x, %y), kwargs = {alpha: 1})
    %relu : [num_users=1] = call_method[target=relu](args = (%add,), kwargs = {})
    return relu