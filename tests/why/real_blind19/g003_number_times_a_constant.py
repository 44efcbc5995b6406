# https://github.com/pytorch/pytorch/issues/91851
import torch

torch.manual_seed(0)


def show(title, **tensors):
    print(title)
    for name, t in tensors.items():
        print("   ", name, t.item(), t.grad)


def descend(lr, **tensors):
    moved = {}
    with torch.no_grad():
        for name, t in tensors.items():
            before = t.item()
            if t.grad is not None:
                t -= lr * t.grad
            moved[name] = t.item() - before
    return moved


# %%
a = torch.tensor(5.0, requires_grad=True) * 0.1
b = torch.tensor(2.0, requires_grad=True)
c = a + b
c.backward()

print(a.grad, b.grad)
show("scaled when it is made", a=a, b=b, c=c)
moved = descend(0.5, a=a, b=b)
print(moved)

# %%
a2 = torch.tensor(5.0) * 0.1
a2.requires_grad = True
b2 = torch.tensor(2.0, requires_grad=True)
c2 = a2 + b2
c2.backward()

print(a2.grad, b2.grad)
show("scaled, then marked", a2=a2, b2=b2, c2=c2)
print(descend(0.5, a2=a2, b2=b2))
