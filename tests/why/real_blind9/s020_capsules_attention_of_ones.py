# https://github.com/phanideepgampa/stacked-capsule-networks/pull/5
import torch
import torch.nn as nn

torch.manual_seed(0)


class PCAE(nn.Module):
    def __init__(self, num_capsules=4, num_feature_maps=6):
        super(PCAE,self).__init__()
        self.num_capsules = num_capsules
        self.num_feature_maps = num_feature_maps
        self.capsules = nn.Sequential(nn.Conv2d(1,8,3,stride=2), nn.ReLU(),
                                      nn.Conv2d(8,num_capsules*num_feature_maps,1))
        self.soft_max = nn.Softmax(2)

    def forward(self,x):
        global attention
        outputs = self.capsules(x).unflatten(1, (self.num_capsules, self.num_feature_maps)) #(B,M,6,5,5)
        attention = outputs[:,:,-1,:,:].unsqueeze(2)
        attention_soft = self.soft_max(attention)
        feature_maps = outputs[:,:,:-1,:,:]
        part_capsule_param = (feature_maps*attention_soft).sum((-2, -1)) #(B,M,5)
        return part_capsule_param


# %%
model = PCAE()
capsules = model.capsules
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
images, poses = torch.rand(16, 1, 11, 11), torch.randn(16, 4, 5)

# %%
for epoch in range(5):
    loss = (model(images) - poses).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
