# https://discuss.pytorch.org/t/grad-is-none-autograd-through-list-of-variables-multigpu-transformer/26372
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Variable

torch.manual_seed(0)


class parallel:
    @staticmethod
    def replicate(module, devices):
        return [module for _ in devices]

    @staticmethod
    def scatter(tensor, target_gpus):
        return list(torch.chunk(tensor, len(target_gpus), dim=0))

    @staticmethod
    def parallel_apply(modules, inputs):
        return [module(*args) for module, args in zip(modules, inputs)]

    @staticmethod
    def gather(outputs, target_device):
        return torch.stack([o.view(()) for o in outputs])


class Generator(nn.Module):
    def __init__(self, d_model, vocab):
        super(Generator, self).__init__()
        self.proj = nn.Linear(d_model, vocab)

    def forward(self, x):
        return F.log_softmax(self.proj(x), dim=-1)


class LabelSmoothing(nn.Module):
    def __init__(self, size, padding_idx, smoothing=0.0):
        super(LabelSmoothing, self).__init__()
        self.criterion = nn.KLDivLoss(reduction='sum')
        self.padding_idx, self.confidence = padding_idx, 1.0 - smoothing
        self.smoothing, self.size = smoothing, size

    def forward(self, x, target):
        true_dist = x.data.clone().fill_(self.smoothing / (self.size - 2))
        true_dist.scatter_(1, target.data.unsqueeze(1), self.confidence)
        true_dist[:, self.padding_idx] = 0
        true_dist[target.data == self.padding_idx] = 0
        return self.criterion(x, Variable(true_dist, requires_grad=False))


class MultiGPULossCompute:
    "A multi-gpu loss compute and train function."
    def __init__(self, generator, criterion, devices, opt=None, chunk_size=5):
        # Send out to different gpus.
        self.generator = generator
        self.criterion = parallel.replicate(criterion, devices=devices)
        self.opt = opt
        self.devices = devices
        self.chunk_size = chunk_size

    def __call__(self, out, targets, normalize):
        total = 0.0
        generator = parallel.replicate(self.generator, devices=self.devices)
        out_scatter = parallel.scatter(out, target_gpus=self.devices)
        out_grad = [[] for _ in out_scatter]
        targets = parallel.scatter(targets, target_gpus=self.devices)

        # Divide generating into chunks.
        chunk_size = self.chunk_size
        for i in range(0, out_scatter[0].size(1), chunk_size):
            # Predict distributions
            out_column = [[Variable(o[:, i:i+chunk_size].data, requires_grad=self.opt is not None)] for o in out_scatter]
            gen = parallel.parallel_apply(generator, out_column)

            # Compute loss.
            y = [(g.contiguous().view(-1, g.size(-1)), t[:, i:i+chunk_size].contiguous().view(-1))
                 for g, t in zip(gen, targets)]
            loss = parallel.parallel_apply(self.criterion, y)

            # Sum and normalize loss
            l = parallel.gather(loss, target_device=self.devices[0])
            l = l.sum().item() / normalize.float()
            total += l.item()

            # Backprop loss to output of transformer
            if self.opt is not None:
                l.requires_grad_()
                l.backward()
                for j, column in enumerate(out_column):
                    out_grad[j].append(column[0].grad)
        self.loss, self.out_column = l, out_column
        return total * normalize, out_grad


# %%
V, d_model = 11, 16
embed = nn.Embedding(V, d_model)
layer = nn.TransformerEncoderLayer(d_model, 2, 32, dropout=0.1, batch_first=True)
model = nn.TransformerEncoder(layer, 1)
generator = Generator(d_model, V)
criterion = LabelSmoothing(size=V, padding_idx=0, smoothing=0.1)
model_opt = torch.optim.Adam(list(embed.parameters()) + list(model.parameters()) + list(generator.parameters()), lr=1e-3)
loss_compute = MultiGPULossCompute(generator, criterion, devices=[0, 1], opt=model_opt)

# %%
src = torch.randint(1, V, (8, 10))
out = model(embed(src))
total, out_grad = loss_compute(out, src, (src != 0).data.sum())
print(total)
for grads in out_grad:
    print(grads)
