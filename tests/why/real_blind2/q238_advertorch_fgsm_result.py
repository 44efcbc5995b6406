# https://github.com/BorealisAI/advertorch/issues/49
import torch
import torch.nn as nn


class GradientSignAttack:
    def __init__(self, predict, loss_fn=None, eps=0.3, clip_min=0., clip_max=1., targeted=False):
        self.predict, self.eps, self.targeted = predict, eps, targeted
        self.clip_min, self.clip_max = clip_min, clip_max
        self.loss_fn = loss_fn or nn.CrossEntropyLoss(reduction="sum")

    def perturb(self, x, y):
        x = x.detach().clone()
        xadv = x.requires_grad_()
        loss = self.loss_fn(self.predict(xadv), y)
        if self.targeted:
            loss = -loss
        loss.backward()
        grad_sign = xadv.grad.detach().sign()
        xadv = xadv + self.eps * grad_sign
        xadv = torch.clamp(xadv, self.clip_min, self.clip_max)
        return xadv


class PGDAttack(GradientSignAttack):
    def perturb(self, x, y, nb_iter=4, eps_iter=0.1):
        delta = torch.zeros_like(x).requires_grad_()
        for _ in range(nb_iter):
            loss = self.loss_fn(self.predict(x + delta), y)
            loss.backward()
            delta.data = torch.clamp(delta.data + eps_iter * delta.grad.sign(), -self.eps, self.eps)
            delta.data = torch.clamp(x + delta.data, self.clip_min, self.clip_max) - x
            delta.grad.data.zero_()
        return torch.clamp(x + delta, self.clip_min, self.clip_max).data


# %%
model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 4 * 4, 3))
criterion = nn.CrossEntropyLoss()
images, labels = torch.rand(5, 1, 6, 6), torch.randint(3, (5,))


def gradient_at(adv_tensor):
    adv_tensor.requires_grad_()
    model.zero_grad()
    loss = criterion(model(adv_tensor), labels)
    loss.backward()
    return adv_tensor.grad.clone()


pgd_tensor = PGDAttack(model).perturb(images, labels)
print('PGD', gradient_at(pgd_tensor).norm())

# %%
fgsm_tensor = GradientSignAttack(model).perturb(images, labels)
print('FGSM', gradient_at(fgsm_tensor).norm())
