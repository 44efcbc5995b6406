# https://github.com/Hunter-DDM/knowledge-neurons/issues/14
import torch
import torch.nn as nn


class Output(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = nn.Linear(12, 6)


model = Output()
ori_pred_emb, tgt_emb = torch.randn(6), torch.randn(6)
lambda_list_1, lambda_list_2 = [1.0], [8.0]
kn_bag = [2, 5]

# %%
for i, pos in enumerate(kn_bag[:1]):
    model.dense.weight[:, pos] -= ori_pred_emb * lambda_list_1[i]
    model.dense.weight[:, pos] += tgt_emb * lambda_list_2[i]
print(model.dense.weight[:, 2])
