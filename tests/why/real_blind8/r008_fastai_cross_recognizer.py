# https://forums.fast.ai/t/trouble-with-a-simple-cross-recognizer/58206
import torch

torch.manual_seed(0)

# %%
#'X' represented as 3x3
x = torch.FloatTensor([[1,0,1],[0,1,0],[1,0,1]])
#count of training samples
sample_count = 10
ratio_of_crosses_in_input = 0.33

#Create sample_count no of samples of 3x3
input_ = torch.rand(sample_count, 3, 3)
#Create a bias element to append to end of image data
bias = torch.ones(sample_count,1)
#reshape the image sample from 3x3 => 9x1 to make it a linear 1D array
input_1x = input_.reshape(sample_count,9)

#Add bias as last element, ie 10th element
input_with_bias = torch.cat((input_1x,bias), 1)
#Make % of the samples of type 'X'
input_with_bias[int(sample_count*(1-ratio_of_crosses_in_input)):,:] = torch.cat((x.reshape(1,9)[0], torch.ones(1)), 0)

#Create expected result tensor with all outputs corresponding to 'X' set as 1
expected_y = torch.zeros(sample_count, 1)
expected_y[int(sample_count*(1-ratio_of_crosses_in_input)):] = 1

#Create single layer nn, initialized to random
layer1 = torch.rand(10) - 0.5
def mse(y_hat, y): return ((y_hat -y)**2).mean()

lr = 2.
sig = torch.nn.Sigmoid()
layer1 = torch.nn.Parameter(layer1)

def update():
    y_hat = input_with_bias@layer1
    y_hat = sig(y_hat)
    loss = mse( y_hat, expected_y)
    loss.backward()
    if i % 500 == 0:
      print (loss)
    with torch.no_grad():
      layer1.sub_(lr * layer1.grad)
      layer1.grad.zero_()

# %%
#Update the weights
for i in range(1500):
    update()
print(sig(input_with_bias@layer1), expected_y.view(-1))
