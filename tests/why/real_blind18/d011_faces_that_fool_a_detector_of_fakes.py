# https://github.com/paarthneekhara/AdversarialDeepFakes/issues/23
import torch
import torch.nn as nn
from torch import autograd

torch.manual_seed(0)


class Normalize:
    def __init__(self, mean, std):
        self.mean = mean
        self.std = std

    def __call__(self, tensor):
        for t, m, s in zip(tensor[0], self.mean, self.std):
            t.sub_(m).div_(s)
        return tensor


mesonet_default_data_transforms = {'normalize': Normalize([0.5] * 3, [0.5] * 3)}


class Meso4(nn.Module):
    def __init__(self, num_classes=2):
        super(Meso4, self).__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 8, 5, padding=2, bias=False)
        self.relu = nn.ReLU(inplace=True)
        self.maxpooling1 = nn.MaxPool2d(kernel_size=2)
        self.fc1 = nn.Linear(8 * 8 * 8, num_classes)

    def forward(self, x):
        x = self.maxpooling1(self.bn1(self.relu(self.conv1(x))))
        x = self.maxpooling1(self.relu(self.conv2(x)))
        return self.fc1(x.flatten(1))


def add_gaussian_noise(x, std):
    return x + std * torch.randn_like(x)


def gaussian_blur(x, kernel_size):
    kernel = torch.ones(3, 1, kernel_size, kernel_size) / kernel_size ** 2
    return nn.functional.conv2d(x, kernel, padding=kernel_size // 2, groups=3)


def predict_with_model(preprocessed_image, model, post_function=nn.Softmax(dim=1)):
    # differentiable resizing: doing resizing here instead of preprocessing
    resized_image = nn.functional.interpolate(preprocessed_image, size=(32, 32), mode="bilinear", align_corners=True)
    norm_transform = mesonet_default_data_transforms['normalize']
    normalized_image = norm_transform(resized_image)

    logits = model(normalized_image)
    output = post_function(logits)
    _, prediction = torch.max(output, 1)
    return int(prediction), output, logits


def robust_fgsm(input_img, model, max_iter=10, alpha=1 / 255.0, eps=16 / 255.0, desired_acc=0.95):
    transform_functions = [
        lambda x: x,
        lambda x: add_gaussian_noise(x, 0.01),
        lambda x: gaussian_blur(x, kernel_size=5),
    ]
    input_var = autograd.Variable(input_img, requires_grad=True)

    iter_no = 0
    while iter_no < max_iter:
        loss = 0
        all_fooled = True
        for transform_fn in transform_functions:
            transformed_img = transform_fn(input_var)
            prediction, output, logits = predict_with_model(transformed_img, model)
            if output[0][0] < desired_acc:
                all_fooled = False
            loss += torch.clamp(logits[0][1] - logits[0][0] + 10, min=0.0)
        if all_fooled:
            break

        loss /= (1. * len(transform_functions))
        if input_var.grad is not None:
            input_var.grad.data.zero_()
        loss.backward()

        step_adv = input_var.detach() - alpha * torch.sign(input_var.grad.detach())
        total_pert = torch.clamp(step_adv - input_img, -eps, eps)
        input_var.data = torch.clamp(input_img + total_pert, 0, 1).detach()
        iter_no += 1

    l_inf_norm = torch.max(torch.abs((input_var - input_img))).item()
    return input_var, {'attack_iterations': iter_no, 'l_inf_norm': l_inf_norm}


# %%
model = Meso4()
model.eval()
processed_image = torch.rand(1, 3, 24, 24)

# %%
perturbed_image, attack_meta_data = robust_fgsm(processed_image, model)
print(perturbed_image.shape, attack_meta_data)
