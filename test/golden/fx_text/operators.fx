graph():
    %x : [num_users=1] = placeholder[target=x]
    %y : [num_users=3] = placeholder[target=y]
    %add : [num_users=1] = call_function[target=operator.add](args = (%x, %y), kwargs = {})
    %sub : [num_users=1] = call_function[target=operator.sub](args = (%add, 1), kwargs = {})
    %mul : [num_users=1] = call_function[target=operator.mul](args = (%sub, 2.0), kwargs = {})
    %truediv : [num_users=2] = call_function[target=operator.truediv](args = (%mul, %y), kwargs = {})
    %getattr_1 : [num_users=1] = call_function[target=builtins.getattr](args = (%truediv, shape), kwargs = {})
    %getitem : [num_users=1] = call_function[target=operator.getitem](args = (%getattr_1, 0), kwargs = {})
    %floordiv : [num_users=2] = call_function[target=operator.floordiv](args = (%getitem, 2), kwargs = {})
    %matmul : [num_users=1] = call_function[target=operator.matmul](args = (%truediv, %y), kwargs = {})
    %getitem_1 : [num_users=1] = call_function[target=operator.getitem](args = (%matmul, (slice(None, floordiv, None), Ellipsis, slice(1, None, 2))), kwargs = {})
    %neg : [num_users=1] = call_function[target=operator.neg](args = (%getitem_1,), kwargs = {})
    return (neg, floordiv)