# https://github.com/opendp/smartnoise-sdk/issues/280
import torch
from torch import nn, optim

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self, embedding_dim=8, data_dim=4):
        super().__init__()
        self.seq = nn.Sequential(nn.Linear(embedding_dim, 32), nn.ReLU(), nn.Linear(32, data_dim))

    def forward(self, z):
        return self.seq(z)


class Discriminator(nn.Module):
    def __init__(self, data_dim=4):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(data_dim, 32), nn.LeakyReLU(0.2))
        self.head = nn.Linear(32, 1)

    def forward(self, x):
        return torch.sigmoid(self.head(self.body(x))).squeeze(1)


def pate(data, teachers, lap_scale):
    votes = torch.stack([(t(data) > 0.5).float() for t in teachers]).sum(0)
    noise = torch.distributions.Laplace(0.0, lap_scale).sample(votes.shape)
    return (votes + noise > len(teachers) / 2).float().detach(), votes


class PATECTGAN:
    def __init__(self, num_teachers=3, teacher_iters=2, student_iters=5, batch_size=32, embedding_dim=8):
        self.num_teachers, self.batch_size, self.embedding_dim = num_teachers, batch_size, embedding_dim
        self.teacher_iters, self.student_iters = teacher_iters, student_iters

    def train(self, data, rounds=6):
        partitions = data.chunk(self.num_teachers)
        self.generator, self.student_disc = Generator(self.embedding_dim), Discriminator()
        teacher_disc = [Discriminator() for _ in range(self.num_teachers)]
        optimizerG = optim.Adam(self.generator.parameters(), lr=2e-4, betas=(0.5, 0.9))
        optimizerS = optim.Adam(self.student_disc.parameters(), lr=2e-4, betas=(0.5, 0.9))
        optimizerT = [optim.Adam(t.parameters(), lr=2e-4, betas=(0.5, 0.9)) for t in teacher_disc]
        criterion = nn.BCELoss()
        real, fake_label = torch.ones(self.batch_size), torch.zeros(self.batch_size)

        for _ in range(rounds):
            # train teacher discriminators
            for t_2 in range(self.teacher_iters):
                for i in range(self.num_teachers):
                    part = partitions[i][torch.randint(len(partitions[i]), (self.batch_size,))]
                    fake = self.generator(torch.randn(self.batch_size, self.embedding_dim))
                    optimizerT[i].zero_grad()
                    errD = criterion(teacher_disc[i](fake.detach()), fake_label)
                    errD = errD + criterion(teacher_disc[i](part), real)
                    errD.backward()
                    optimizerT[i].step()

            # train student discriminator
            for t_3 in range(self.student_iters):
                fake = self.generator(torch.randn(self.batch_size, self.embedding_dim))
                predictions, votes = pate(fake, teacher_disc, 1e-3)
                output = self.student_disc(fake.detach())
                loss_s = criterion(output, predictions)
                self.of_this_loss, = torch.autograd.grad(loss_s, self.student_disc.head.weight, retain_graph=True)

                loss_s.backward()
                optimizerS.step()
                self.used = self.student_disc.head.weight.grad.clone()

            # train generator
            y_fake = self.student_disc(self.generator(torch.randn(self.batch_size, self.embedding_dim)))
            loss_g = criterion(y_fake, real)
            optimizerG.zero_grad()
            loss_g.backward()
            optimizerG.step()
            print("student {:.4f}, generator {:.4f}".format(loss_s.item(), loss_g.item()))


# %%
synth = PATECTGAN()
synth.train(torch.randn(300, 4) * 0.5 + torch.tensor([1.0, -1.0, 0.5, 2.0]))
print(synth.used.norm(), synth.of_this_loss.norm())
