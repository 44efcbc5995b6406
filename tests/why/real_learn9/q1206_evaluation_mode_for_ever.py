# https://github.com/ermongroup/ncsn/issues/2
import torch
import torch.nn as nn

torch.manual_seed(0)


class Score(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Conv2d(1, 8, 3, 1, 1), nn.BatchNorm2d(8), nn.ELU(), nn.Dropout(0.3), nn.Conv2d(8, 1, 3, 1, 1))

    def forward(self, x):
        return self.main(x)


def anneal_dsm_score_estimation(scorenet, samples, sigma=0.1):
    perturbed = samples + torch.randn_like(samples) * sigma
    target = -1 / (sigma ** 2) * (perturbed - samples)
    scores = scorenet(perturbed)
    loss = 1 / 2. * ((scores.view(scores.shape[0], -1) - target.view(target.shape[0], -1)) ** 2).sum(dim=-1) * sigma ** 2
    return loss.mean(dim=0)


# %%
score = Score()
optimizer = torch.optim.Adam(score.parameters(), lr=1e-3)
step = 0

# %%
for epoch in range(2):
    for i in range(4):
        step += 1
        X = torch.rand(8, 1, 8, 8)
        loss = anneal_dsm_score_estimation(score, X)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print("step: {}, loss: {}".format(step, loss.item()))

        if step % 2 == 0:
            score.eval()
            test_X = torch.rand(8, 1, 8, 8)
            with torch.no_grad():
                test_dsm_loss = anneal_dsm_score_estimation(score, test_X)
            print("test", test_dsm_loss.item())
