# https://discuss.pytorch.org/t/computing-gradients-with-respect-to-weights-in-custom-conv2d/119911
import torch
import torch.nn.functional as F

torch.manual_seed(0)


class Conv2d:
    """convolution from scratch, without autograd"""

    def __init__(self, in_dim, out_dim, kernel_size=3, padding=1):
        self.kernel = torch.randn(out_dim, in_dim, kernel_size, kernel_size)
        # unfold with kernel size 3 and padding 1
        self.unfold = torch.nn.Unfold(kernel_size=(kernel_size, kernel_size), padding=padding)

    def forward(self, img):
        # unfolded data
        self.img_unfolded = self.unfold(img)
        # forwardpass with kernel and unfolded data
        # reshape kernel to (out_dim ,-1)
        self.output = self.kernel.view(self.kernel.size(0), -1).matmul(self.img_unfolded)
        # output with shape (1 ,1 ,784)
        return self.output

    def backward(self, grads_output):
        # gradients with respect to the weights
        self.grads_weights = self.img_unfolded.T.matmul(self.output)
        # transposed reshaped kernel times the gradients of the output
        self.grads_next_layer = self.kernel.view(self.kernel.size(0), -1).T.matmul(grads_output)
        return self.grads_next_layer


# %%
# as an input im using a tensor with the size of a mnist digit
img = torch.randn(1, 1, 28, 28)
target = torch.randn(1, 1, 28, 28)
# kernel with 1 input dim and 1 output dim
conv = Conv2d(1, 1)
output = conv.forward(img)
print(output.shape)

# %%
grads_output = 2 * (output - target.view(1, 1, -1)) / output.numel()
grads_next_layer = conv.backward(grads_output)
print(grads_next_layer.shape)

# %%
kernel = conv.kernel.clone().requires_grad_(True)
loss = F.mse_loss(F.conv2d(img, kernel, padding=1), target)
loss.backward()
print(kernel.grad.shape, conv.grads_weights.shape)
