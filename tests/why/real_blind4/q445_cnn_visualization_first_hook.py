# https://github.com/utkuozbulak/pytorch-cnn-visualizations/issues/67
import numpy as np
import torch
import torch.nn as nn
from torch.autograd import Variable

torch.manual_seed(0)
np.random.seed(0)


class SmallNet(nn.Module):
    def __init__(self, n_class=10):
        super().__init__()
        self.conv_stem = nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(8)
        self.block = nn.Conv2d(8, 8, 3, padding=1)
        self.head = nn.Linear(8, n_class)

    def forward(self, x):
        x = torch.relu(self.bn(self.conv_stem(x)))
        x = torch.relu(self.block(x))
        return self.head(x.mean((2, 3)))


def preprocess_image(pil_im):
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    im_as_arr = np.float32(pil_im).transpose(2, 0, 1)  # Convert array to D,W,H
    for channel, _ in enumerate(im_as_arr):
        im_as_arr[channel] /= 255
        im_as_arr[channel] -= mean[channel]
        im_as_arr[channel] /= std[channel]
    im_as_ten = torch.from_numpy(im_as_arr).float()
    im_as_ten.unsqueeze_(0)  # Add one more channel to the beginning. Tensor shape = 1,3,224,224
    im_as_var = Variable(im_as_ten)
    return im_as_var


class VanillaBackprop():
    """Produces gradients generated with vanilla back propagation from the image"""

    def __init__(self, model):
        self.model = model
        self.gradients = None
        # Put model in evaluation mode
        self.model.eval()
        # Hook the first layer to get the gradient
        self.hook_layers()

    def hook_layers(self):
        def hook_function(module, grad_in, grad_out):
            self.gradients = grad_in[0]

        # Register hook to the first layer
        first_layer = list(self.model._modules.items())[0][1]
        first_layer.register_full_backward_hook(hook_function)

    def generate_gradients(self, input_image, target_class):
        # Forward
        model_output = self.model(input_image)
        # Zero grads
        self.model.zero_grad()
        # Target for backprop
        one_hot_output = torch.FloatTensor(1, model_output.size()[-1]).zero_()
        one_hot_output[0][target_class] = 1
        # Backward pass
        model_output.backward(gradient=one_hot_output)
        return self.gradients


# %%
pretrained_model = SmallNet()
picture = np.random.randint(0, 255, (16, 16, 3))
prep_img = preprocess_image(picture)
VBP = VanillaBackprop(pretrained_model)
vanilla_grads = VBP.generate_gradients(prep_img, target_class=3)
print(vanilla_grads)
