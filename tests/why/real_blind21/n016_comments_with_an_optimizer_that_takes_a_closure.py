# https://github.com/Lightning-AI/pytorch-lightning/issues/18222
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import Optimizer
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class AdamW(Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            loss = closure()

        for group in self.param_groups:
            for p in group['params']:
                if p.grad is None:
                    continue
                grad = p.grad
                state = self.state[p]
                if len(state) == 0:
                    state['step'] = 0
                    state['exp_avg'] = torch.zeros_like(p)
                    state['exp_avg_sq'] = torch.zeros_like(p)
                exp_avg, exp_avg_sq = state['exp_avg'], state['exp_avg_sq']
                beta1, beta2 = group['betas']
                state['step'] += 1
                exp_avg.mul_(beta1).add_(grad, alpha=1.0 - beta1)
                exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1.0 - beta2)
                denom = exp_avg_sq.sqrt().add_(group['eps'])
                bias_correction1 = 1.0 - beta1 ** state['step']
                bias_correction2 = 1.0 - beta2 ** state['step']
                step_size = group['lr'] * math.sqrt(bias_correction2) / bias_correction1
                p.addcdiv_(exp_avg, denom, value=-step_size)
                p.add_(p, alpha=-group['lr'] * group['weight_decay'])
        return loss


class UCC_Dataset(Dataset):
    def __init__(self, n, config):
        self.input_ids = torch.randint(1, config['vocab_size'], (n, config['max_length']))
        self.labels = (self.input_ids[:, :config['n_labels']] % 2).float()

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        ids = self.input_ids[index]
        return {'input_ids': ids, 'attention_mask': torch.ones_like(ids), 'labels': self.labels[index]}


class PretrainedModel(nn.Module):
    def __init__(self, vocab_size, hidden_size):
        super().__init__()
        self.embeddings = nn.Embedding(vocab_size, hidden_size)
        layer = nn.TransformerEncoderLayer(hidden_size, 2, 2 * hidden_size, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)

    def forward(self, input_ids, attention_mask):
        return self.encoder(self.embeddings(input_ids), src_key_padding_mask=attention_mask == 0)


class UCC_Comment_Classifier(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.pretrained_model = PretrainedModel(config['vocab_size'], config['hidden_size'])
        self.hidden = nn.Linear(config['hidden_size'], config['hidden_size'])
        self.classifier = nn.Linear(config['hidden_size'], self.config['n_labels'])
        nn.init.xavier_uniform_(self.classifier.weight)
        self.loss_func = nn.BCEWithLogitsLoss(reduction='mean')
        self.dropout = nn.Dropout()
        for param in self.parameters():
            param.requires_grad = True

    def forward(self, input_ids, attention_mask, labels=None):
        output = self.pretrained_model(input_ids=input_ids, attention_mask=attention_mask)
        pooled_output = torch.mean(output, 1)
        pooled_output = F.relu(self.hidden(self.dropout(pooled_output)))
        logits = self.classifier(self.dropout(pooled_output))
        loss = 0
        if labels is not None:
            loss = self.loss_func(logits.view(-1, self.config['n_labels']), labels.view(-1, self.config['n_labels']))
        return loss, logits

    def training_step(self, batch, batch_index):
        loss, outputs = self(**batch)
        return loss

    def configure_optimizers(self):
        return AdamW(self.parameters(), lr=self.config['lr'], weight_decay=self.config['w_decay'])


class Trainer:
    def __init__(self, max_epochs):
        self.max_epochs = max_epochs

    def fit(self, model, dataloader):
        model.train()
        optimizer = model.configure_optimizers()
        for epoch in range(self.max_epochs):
            for batch_idx, batch in enumerate(dataloader):

                def closure():
                    loss = model.training_step(batch, batch_idx)
                    optimizer.zero_grad()
                    loss.backward()
                    return loss

                loss = optimizer.step(closure=closure)
            print(epoch, loss.item())


# %%
config = {'vocab_size': 50, 'max_length': 12, 'hidden_size': 16, 'n_labels': 5, 'lr': 1.5e-3, 'w_decay': 0.001, 'batch_size': 16}
ucc_data = DataLoader(UCC_Dataset(64, config), batch_size=config['batch_size'], shuffle=True)
model = UCC_Comment_Classifier(config)
print(all(param.requires_grad for param in model.parameters()))

# %%
trainer = Trainer(max_epochs=2)
trainer.fit(model, ucc_data)
