# https://github.com/CuthbertCai/pytorch_DANN/issues/10
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)
# utility params
gamma = -10
theta = 1


class GradReverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, constant):
        ctx.constant = constant
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        grad_output = grad_output.neg() * ctx.constant
        return grad_output, None

    def grad_reverse(x, constant):
        return GradReverse.apply(x, constant)


class Extractor(nn.Module):
    def __init__(self):
        super(Extractor, self).__init__()
        self.extractor = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 16), nn.ReLU())

    def forward(self, x):
        return self.extractor(x)


class Domain_classifier(nn.Module):
    def __init__(self):
        super(Domain_classifier, self).__init__()
        self.fc1 = nn.Linear(16, 16)
        self.fc2 = nn.Linear(16, 2)

    def forward(self, input, constant):
        input = GradReverse.grad_reverse(input, constant)
        logits = F.relu(self.fc1(input))
        logits = F.log_softmax(self.fc2(logits), 1)
        return logits


# %%
feature_extractor, class_classifier, domain_classifier = Extractor(), nn.Linear(16, 10), Domain_classifier()
optimizer = optim.SGD([{'params': feature_extractor.parameters()}, {'params': class_classifier.parameters()}, {'params': domain_classifier.parameters()}], lr=0.01, momentum=0.9)
total_steps, start_steps = 6, 0

# %%
for batch_idx in range(total_steps):
    # setup hyperparameters
    p = float(batch_idx + 1 + start_steps) / total_steps
    constant = 2. / (1. + np.exp(-gamma * p)) - 1

    input1, label1, input2 = torch.randn(16, 12), torch.randint(0, 10, (16,)), torch.randn(16, 12) + 1
    source_labels, target_labels = torch.zeros(16).long(), torch.ones(16).long()
    optimizer.zero_grad()
    src_feature, tgt_feature = feature_extractor(input1), feature_extractor(input2)
    class_loss = F.cross_entropy(class_classifier(src_feature), label1)
    src_loss = F.nll_loss(domain_classifier(src_feature, constant), source_labels)
    tgt_loss = F.nll_loss(domain_classifier(tgt_feature, constant), target_labels)
    domain_loss = tgt_loss + src_loss
    loss = class_loss + theta * domain_loss
    loss.backward()
    optimizer.step()
    print(batch_idx, class_loss.item(), domain_loss.item())
