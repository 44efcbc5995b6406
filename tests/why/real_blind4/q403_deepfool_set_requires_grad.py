# https://github.com/Harry24k/adversarial-attacks-pytorch/issues/2
import torch
import torch.nn as nn

torch.manual_seed(0)


class Attack(object):
    def __init__(self, name, model):
        self.attack = name
        self.model = model
        self.device = next(model.parameters()).device

    def __call__(self, *input, **kwargs):
        self.model.eval()
        return self.forward(*input, **kwargs)


class DeepFool(Attack):
    def __init__(self, model, iters=3):
        super(DeepFool, self).__init__("DeepFool", model)
        self.iters = iters

    def forward(self, images, labels):
        images = images.to(self.device)

        for b in range(images.shape[0]):
            image = images[b:b + 1]
            for _ in range(self.iters):
                image.requires_grad = True
                output = self.model(image)[0]
                _, pre = torch.max(output, dim=0)
                if pre != labels[b]:
                    break

                ws = []
                for k in range(len(output)):
                    ws.append(torch.autograd.grad(output[k], image, retain_graph=True)[0])
                f_prime = output - output[pre]
                others = [k for k in range(len(output)) if k != pre]
                value = torch.stack([f_prime[k].abs() / torch.norm(ws[k] - ws[pre]) for k in others])
                l = others[torch.argmin(value)]
                w_l = ws[l] - ws[pre]
                r = (f_prime[l].abs() + 1e-4) * w_l / torch.norm(w_l) ** 2
                image = torch.clamp(image + 1.02 * r, min=0, max=1).detach()

            images[b:b + 1] = image

        return images


# %%
model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 5))
images = torch.rand(4, 1, 8, 8)
with torch.no_grad():
    labels = model(images).argmax(1)

# %%
attack = DeepFool(model, iters=20)
adv_images = attack(images.clone(), labels)
print((model(adv_images).argmax(1) == labels).float().mean())
