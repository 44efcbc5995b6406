# https://github.com/Runist/torch_maml/issues/3
import collections
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
args = SimpleNamespace(inner_lr=0.04, outer_lr=0.001, inner_steps=2)


class Classifier(nn.Module):
    def __init__(self):
        super(Classifier, self).__init__()
        self.fc1 = nn.Linear(8, 16)
        self.logits = nn.Linear(16, 5)

    def forward(self, x):
        return self.logits(F.relu(self.fc1(x)))

    def functional_forward(self, x, params):
        x = F.relu(F.linear(x, params['fc1.weight'], params['fc1.bias']))
        return F.linear(x, params['logits.weight'], params['logits.bias'])


def maml_train(model, support_images, support_labels, query_images, query_labels, inner_step, args, optimizer):
    meta_loss = []
    for support_image, support_label, query_image, query_label in zip(support_images, support_labels, query_images, query_labels):
        fast_weights = collections.OrderedDict(model.named_parameters())
        for _ in range(inner_step):
            # Update weight
            support_logit = model.functional_forward(support_image, fast_weights)
            support_loss = nn.CrossEntropyLoss()(support_logit, support_label)
            grads = torch.autograd.grad(support_loss, fast_weights.values(), create_graph=True)
            fast_weights = collections.OrderedDict((name, param - args.inner_lr * grads)
                                                   for ((name, param), grads) in zip(fast_weights.items(), grads))
        # Use trained weight to get query loss
        query_logit = model.functional_forward(query_image, fast_weights)
        meta_loss.append(nn.CrossEntropyLoss()(query_logit, query_label))

    # Zero the gradient
    optimizer.zero_grad()
    meta_loss = torch.stack(meta_loss).mean()
    meta_loss.backward()
    optimizer.step()
    return meta_loss


# %%
model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=args.outer_lr)
before = model.fc1.weight.detach().clone()

# %%
for epoch in range(3):
    s_x, q_x = torch.randn(4, 5, 8), torch.randn(4, 15, 8)
    s_y, q_y = torch.arange(5).expand(4, 5), torch.arange(15).expand(4, 15) % 5
    loss = maml_train(model, s_x, s_y, q_x, q_y, args.inner_steps, args, optimizer)
    print(epoch, loss.item())
