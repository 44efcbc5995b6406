# https://github.com/pytorch/pytorch/issues/117925
import torch


class MyModule(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.some_param = torch.nn.Parameter(torch.tensor(1.0))

    def forward(self, x):
        return x * self.some_param


called = []


def full_backward_hook(module, grad_input, grad_output):
    called.append((grad_input, grad_output))
    print(f"full_backward_hook called with {module} {grad_input} {grad_output}")


# %%
model = MyModule()
model.register_full_backward_hook(full_backward_hook)

output = model.forward(torch.tensor(5.0))
print(f"model.some_param.grad: {model.some_param.grad}")
print("calling backward")
output.backward()
print(f"model.some_param.grad: {model.some_param.grad}")
