# https://github.com/huggingface/accelerate/issues/435
import contextlib
import torch
import torch.nn as nn

torch.manual_seed(0)


class Accelerator:
    def backward(self, loss):
        loss.backward()

    @contextlib.contextmanager
    def no_sync(self, model):
        yield


class PairClassifier(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.embed = nn.Embedding(50, dim)
        self.head = nn.Sequential(nn.Linear(2 * dim, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, first, second, labels):
        x = torch.cat([self.embed(first).mean(1), self.embed(second).mean(1)], dim=1)
        logits = self.head(x)
        return nn.functional.cross_entropy(logits, labels), logits


def get_dataloader(batches=20, batch_size=8):
    loader = []
    for _ in range(batches):
        first = torch.randint(0, 50, (batch_size, 5))
        labels = torch.randint(0, 2, (batch_size,))
        second = torch.where(labels.view(-1, 1) == 1, first, torch.randint(0, 50, (batch_size, 5)))
        loader.append((first, second, labels))
    return loader


def training_function(config):
    accelerator = Accelerator()
    gradient_accumulation_steps = config["gradient_accumulation_steps"]
    train_dataloader = get_dataloader()
    model = PairClassifier()
    optimizer = torch.optim.AdamW(params=model.parameters(), lr=config["lr"])
    completed_steps = 0
    for epoch in range(config["num_epochs"]):
        model.train()
        for step, batch in enumerate(train_dataloader):
            # skip the synchronisation until `gradient_accumulation_steps` batches are seen
            if step % gradient_accumulation_steps == 0:
                with accelerator.no_sync(model):
                    loss, _ = model(*batch)
                    loss = loss / gradient_accumulation_steps
                    accelerator.backward(loss)
            else:
                loss, _ = model(*batch)
                loss = loss / gradient_accumulation_steps
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
                completed_steps += 1
        print(f"epoch {epoch}:", loss.item() * gradient_accumulation_steps)
    return model, optimizer, completed_steps


# %%
config = {"lr": 2e-3, "num_epochs": 1, "gradient_accumulation_steps": 5}
model, optimizer, completed_steps = training_function(config)
print("optimizer steps:", completed_steps)
