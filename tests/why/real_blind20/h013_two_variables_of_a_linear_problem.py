# https://discuss.pytorch.org/t/why-is-this-simple-linear-regression-with-only-two-variables-so-hard-to-converge-during-gradient-descent/208572
import torch as t

t.manual_seed(0)

A = t.tensor([
    [-2.4969e+02, -4.1511e+00],
    [-4.1511e+00, -2.0755e-01]])
B = t.tensor([-0., 10.])

# trivially solvable by lstsq
x_solved = t.linalg.lstsq(A, B.unsqueeze(1)).solution.squeeze(1)
print(x_solved)
print("check if Ax=B", A @ x_solved - B)


def forward(x_):
    return (A @ x_ - B).pow(2).sum()


# sanity check with the lstsq solution
print("loss computed with the lstsq solution", forward(x_solved))

# %%
x = t.zeros(2, requires_grad=True)
# learning_rate = 1e-7
# learning_rate = 1e-6
learning_rate = 1e-5
# learning_rate = 1.603e-5
# learning_rate = 1.61e-5  # NaN

# %%
for T in range(10001):
    loss = forward(x)
    if T % 1000 == 0:
        print(T, loss.item())
    loss.backward()
    with t.no_grad():
        x -= learning_rate * x.grad
    x.grad = None
print('converging to', loss.item(), f'at T={T} with lr={learning_rate}')
