# https://github.com/huggingface/transformers/issues/43
from types import SimpleNamespace

import torch
import torch.nn as nn

torch.manual_seed(0)
args = SimpleNamespace(gradient_accumulation_steps=2, loss_scale=128.0, fp16=True, learning_rate=5e-5, num_train_epochs=1)


class BertPooler(nn.Module):
    def __init__(self, hidden_size):
        super(BertPooler, self).__init__()
        self.dense = nn.Linear(hidden_size, hidden_size)
        self.activation = nn.Tanh()

    def forward(self, hidden_states):
        # We "pool" the model by simply taking the hidden state corresponding to the first token.
        return self.activation(self.dense(hidden_states[:, 0]))


class BertModel(nn.Module):
    def __init__(self, vocab_size=50, hidden_size=16):
        super(BertModel, self).__init__()
        self.embeddings = nn.Embedding(vocab_size, hidden_size)
        self.encoder = nn.TransformerEncoderLayer(hidden_size, 2, 32, dropout=0.0, batch_first=True)
        self.pooler = BertPooler(hidden_size)

    def forward(self, input_ids):
        sequence_output = self.encoder(self.embeddings(input_ids))
        pooled_output = self.pooler(sequence_output)
        return sequence_output, pooled_output


class BertForQuestionAnswering(nn.Module):
    def __init__(self, hidden_size=16):
        super(BertForQuestionAnswering, self).__init__()
        self.bert = BertModel(hidden_size=hidden_size)
        self.qa_outputs = nn.Linear(hidden_size, 2)

    def forward(self, input_ids, start_positions=None, end_positions=None):
        sequence_output, _ = self.bert(input_ids)
        logits = self.qa_outputs(sequence_output)
        start_logits, end_logits = logits.split(1, dim=-1)
        start_logits, end_logits = start_logits.squeeze(-1), end_logits.squeeze(-1)
        if start_positions is not None and end_positions is not None:
            loss_fct = nn.CrossEntropyLoss()
            return (loss_fct(start_logits, start_positions) + loss_fct(end_logits, end_positions)) / 2
        return start_logits, end_logits


# %%
model = BertForQuestionAnswering()
no_decay = ['bias', 'gamma', 'beta']
optimizer_grouped_parameters = [
    {'params': [p for n, p in model.named_parameters() if not any(nd in n for nd in no_decay)], 'weight_decay': 0.01},
    {'params': [p for n, p in model.named_parameters() if any(nd in n for nd in no_decay)], 'weight_decay': 0.0}]
optimizer = torch.optim.Adam(optimizer_grouped_parameters, lr=args.learning_rate)
train_dataloader = [(torch.randint(50, (4, 12)), torch.randint(12, (4,)), torch.randint(12, (4,))) for _ in range(4)]

# %%
model.train()
global_step = 0
for _ in range(args.num_train_epochs):
    for step, batch in enumerate(train_dataloader):
        input_ids, start_positions, end_positions = batch
        loss = model(input_ids, start_positions, end_positions)
        if args.fp16 and args.loss_scale != 1.0:
            # rescale loss for fp16 training
            loss = loss * args.loss_scale
        if args.gradient_accumulation_steps > 1:
            loss = loss / args.gradient_accumulation_steps
        loss.backward()
        if (step + 1) % args.gradient_accumulation_steps == 0:
            # scale down gradients for fp16 training
            for param in model.parameters():
                param.grad.data = param.grad.data / args.loss_scale
            optimizer.step()
            model.zero_grad()
            global_step += 1
