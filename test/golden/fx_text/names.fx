graph():
    %tensor : [num_users=2] = placeholder[target=tensor]
    %sum_1 : [num_users=4] = placeholder[target=sum]
    %add : [num_users=1] = call_function[target=torch.add](args = (%tensor, %sum_1), kwargs = {})
    %add_1 : [num_users=1] = call_function[target=torch.add](args = (%add, %sum_1), kwargs = {})
    %add_7 : [num_users=1] = call_function[target=torch.add](args = (%add_1, %sum_1), kwargs = {})
    %add_8 : [num_users=2] = call_function[target=torch.add](args = (%add_7, %sum_1), kwargs = {})
    %relu : [num_users=0] = call_function[target=torch.relu](args = (%add_8,), kwargs = {})
    %relu_1 : [num_users=2] = call_method[target=relu](args = (%add_8,), kwargs = {})
    %sum_2 : [num_users=1] = call_method[target=sum](args = (%relu_1,), kwargs = {})
    %cat : [num_users=1] = call_function[target=torch.cat](args = ([%sum_2, %relu_1, %sum_2],), kwargs = {})
    return (cat, tensor)