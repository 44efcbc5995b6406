# https://stackoverflow.com/questions/75101952
import torch


def minimize(function, initial_parameters):
    list_params = []
    params = initial_parameters
    params.requires_grad_()
    optimizer = torch.optim.SGD([params], lr=0.05)

    for i in range(5):
        optimizer.zero_grad()
        loss = function(params)
        loss.backward()
        optimizer.step()
        list_params.append(params)

    return list_params


# %%
def f(x):
    return (x[0] - 1) ** 2 + 3 * (x[1] + 2) ** 2


params = torch.tensor([4.0, 4.0])
list_params = minimize(f, params)
for p in list_params:
    print(p)
