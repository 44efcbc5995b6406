# https://github.com/batra-mlp-lab/visdial-rl/issues/13
import torch
import torch.nn as nn
import torch.nn.functional as F

decoder, featureNet = nn.Linear(6, 9), nn.Linear(6, 4)
state, image_feat = torch.randn(5, 6), torch.randn(5, 4)
mask = torch.ones(5, 3, dtype=torch.bool)


# %%
def reinforce(reward):
    loss = 0
    for t in range(3):
        probs = F.softmax(decoder(state), dim=1)
        sample = probs.multinomial(1)
        log_prob = probs.gather(1, sample).log().squeeze(1)
        loss += -1 * log_prob * (reward * (mask[:, t].float()))
    return loss.mean()


# %%
reward = 1 - F.mse_loss(featureNet(state), image_feat, reduction='none').mean(1)
loss = reinforce(reward)
loss.backward()
print(featureNet.weight.grad)
