graph():
    %x : [num_users=0] = placeholder[target=x]
    return None