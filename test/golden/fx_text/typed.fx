graph():
    %x : torch.Tensor [num_users=1] = placeholder[target=x]
    %n : int [num_users=1] = placeholder[target=n](default=3)
    %relu : torch.Tensor [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
    %mul : torch.Tensor [num_users=1] = call_method[target=mul](args = (%relu, %n), kwargs = {})
    return mul