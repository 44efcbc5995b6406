# https://discuss.pytorch.org/t/second-order-derivatives-of-loss-function
import torch

torch.manual_seed(0)

# %%
x = torch.tensor(1., requires_grad=True)
y = 2 * x ** 3 + 5 * x ** 2 + 8
y.backward(retain_graph=True, create_graph=True)
first_derivative = x.grad
y.backward()
second_derivative = x.grad
print(first_derivative, second_derivative)


# %%
def model(w, inputs):
    return torch.sigmoid(w * inputs)


inputs = torch.linspace(-2, 2, 40)
targets = model(torch.tensor(1.5), inputs)
w = torch.tensor(0.5, requires_grad=True)
ws = [w.item()]

# %%
for step in range(6):
    loss = ((model(w, inputs) - targets) ** 2).sum()
    w.grad = None
    loss.backward(retain_graph=True, create_graph=True)
    first = w.grad
    loss.backward()
    second = w.grad
    with torch.no_grad():
        w -= first.detach() / second.detach()
    ws.append(w.item())
    print(step, loss.item(), w.item())
