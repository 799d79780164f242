graph():
    %x : [num_users=3] = placeholder[target=x]
    %to : [num_users=1] = call_method[target=to](args = (%x, torch.float64), kwargs = {})
    %to_1 : [num_users=1] = call_method[target=to](args = (%to,), kwargs = {dtype: torch.float16, memory_format: torch.channels_last})
    %cat : [num_users=1] = call_function[target=torch.cat](args = ([%x, %to_1],), kwargs = {dim: -1})
    %cat_1 : [num_users=1] = call_function[target=torch.cat](args = ((%x, %cat),), kwargs = {dim: 1})
    %cat_2 : [num_users=2] = call_function[target=torch.cat](args = ((%cat_1,),), kwargs = {})
    %permute : [num_users=1] = call_method[target=permute](args = (%cat_2, (0, 2, 1)), kwargs = {})
    %view : [num_users=1] = call_method[target=view](args = (%permute, -1, 2), kwargs = {})
    %mean : [num_users=1] = call_function[target=torch.mean](args = (%view, [1]), kwargs = {keepdim: True})
    %clamp : [num_users=1] = call_function[target=torch.clamp](args = (%mean,), kwargs = {min: -inf, max: 1e-05})
    %clamp_1 : [num_users=1] = call_function[target=torch.clamp](args = (%clamp, 1e+16, 123456789.125), kwargs = {})
    %mul : [num_users=1] = call_function[target=torch.mul](args = (%clamp_1, 1e-320), kwargs = {})
    return [mul, (cat_2,), (), [], {}]