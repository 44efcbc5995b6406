# https://github.com/pytorch/pytorch/issues/5022
import torch
import torch.nn as nn

torch.manual_seed(0)


def instrument_model(model,fraction_list):
    def register_hook(module):
        def hookFunc(module, gradInput, gradOutput):

            if isinstance(gradOutput, tuple):
                print(len(gradOutput))
                for i in gradOutput:
                    print(i.size())
                ret = tuple([torch.zeros(g.size()) for g in gradOutput])
                print(len(ret))
                for i in ret:
                    print(i.size())
            else:
                print(gradOutput.size())
                ret = torch.zeros(gradOutput.size())
                print(ret.size())
            return ret




        module.register_backward_hook(hookFunc)
    model.apply(register_hook)


# %%
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
instrument_model(model, [0.0])
x, y = torch.randn(5, 6), torch.randint(0, 2, (5,))

# %%
loss = nn.functional.cross_entropy(model(x), y)
loss.backward()
