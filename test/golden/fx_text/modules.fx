graph():
    %input_1 : [num_users=1] = placeholder[target=input]
    %layer1_0_conv1 : [num_users=1] = call_module[target=layer1.0.conv1](args = (%input_1,), kwargs = {})
    %layer1_0_relu : [num_users=2] = call_module[target=layer1.0.relu](args = (%layer1_0_conv1,), kwargs = {})
    %layer1_0_relu_1 : [num_users=1] = call_module[target=layer1.0.relu](args = (%layer1_0_relu,), kwargs = {})
    %layer1_weights_w : [num_users=1] = get_attr[target=layer1.weights.w]
    %blocks_3x3 : [num_users=1] = call_module[target=blocks.3x3](args = (%layer1_0_relu_1,), kwargs = {})
    %linear : [num_users=1] = call_function[target=torch._C._nn.linear](args = (%blocks_3x3, %layer1_weights_w), kwargs = {bias: None})
    return {'out': linear, 'rest': [layer1_0_relu, None, True, "text's"]}