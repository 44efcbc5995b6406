# https://github.com/ThilinaRajapakse/simpletransformers/issues/941
import torch
from torch import nn
from torch.utils.data import DataLoader, RandomSampler, SequentialSampler, TensorDataset

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self, vocab_size=50, hidden_size=32):
        super().__init__()
        self.embeddings = nn.Embedding(vocab_size, hidden_size)
        layer = nn.TransformerEncoderLayer(hidden_size, 4, 64, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.lm_head = nn.Linear(hidden_size, vocab_size)

    def forward(self, inputs, labels):
        logits = self.lm_head(self.encoder(self.embeddings(inputs)))
        return nn.functional.cross_entropy(logits.transpose(1, 2), labels, ignore_index=-100)


class LanguageModelingModel:
    def __init__(self, model, args):
        self.model = model
        self.args = args
        self.running = []

    def mask_tokens(self, batch):
        labels = batch.clone()
        masked = torch.rand(batch.shape) < 0.15
        labels[~masked] = -100
        inputs = batch.clone()
        inputs[masked] = 0
        return inputs, labels

    def train_model(self, train_dataset, eval_dataset):
        model, args = self.model, self.args
        train_dataloader = DataLoader(train_dataset, sampler=RandomSampler(train_dataset), batch_size=16)
        optimizer = torch.optim.AdamW(model.parameters(), lr=args["learning_rate"])
        scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=args["num_train_epochs"] * 8)
        model.zero_grad()
        model.train()
        for current_epoch in range(args["num_train_epochs"]):
            for step, (batch,) in enumerate(train_dataloader):
                inputs, labels = self.mask_tokens(batch)
                loss = model(inputs, labels)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), args["max_grad_norm"])
                optimizer.step()
                scheduler.step()
                model.zero_grad()
                self.running.append(loss.item())

            if args["evaluate_during_training"]:
                results = self.eval_model(eval_dataset)
                print(current_epoch, sum(self.running[-8:]) / 8, results)

    def eval_model(self, eval_dataset):
        eval_dataloader = DataLoader(eval_dataset, sampler=SequentialSampler(eval_dataset), batch_size=16)
        eval_loss = 0.0
        self.model.eval()
        for (batch,) in eval_dataloader:
            inputs, labels = self.mask_tokens(batch)
            with torch.no_grad():
                eval_loss += self.model(inputs, labels).mean().item()
        return {"eval_loss": eval_loss / len(eval_dataloader)}


tokens = (torch.arange(12) * 3 + torch.randint(0, 50, (160, 1))) % 49 + 1
train_dataset, eval_dataset = TensorDataset(tokens[:128]), TensorDataset(tokens[128:])
args = {"learning_rate": 1e-3, "num_train_epochs": 4, "max_grad_norm": 1.0, "evaluate_during_training": True}

# %%
model = Encoder()
lm = LanguageModelingModel(model, args)
lm.train_model(train_dataset, eval_dataset)
