# https://github.com/richarddwang/electra_pytorch/issues/8
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
vocab, hidden, mask_id = 30, 12, 29


class Encoder(nn.Module):
    def __init__(self, embeddings, out):
        super().__init__()
        self.embeddings = embeddings
        self.layer = nn.TransformerEncoderLayer(hidden, 2, 24, dropout=0., batch_first=True)
        self.head = nn.Linear(hidden, out)

    def forward(self, input_ids):
        return self.head(self.layer(self.embeddings(input_ids)))


class ELECTRAModel(nn.Module):
    def __init__(self, generator, discriminator):
        super().__init__()
        self.generator, self.discriminator = generator, discriminator
        self.gumbel_dist = torch.distributions.gumbel.Gumbel(0., 1.)

    def forward(self, masked_inputs, is_mlm_applied, labels):
        gen_logits = self.generator(masked_inputs)
        # reduce size to save space and speed
        mlm_gen_logits = gen_logits[is_mlm_applied, :]

        with torch.no_grad():
            # sampling
            pred_toks = self.sample(mlm_gen_logits)
            # produce inputs for discriminator
            generated = masked_inputs.clone()
            generated[is_mlm_applied] = pred_toks
            # produce labels for discriminator
            is_replaced = is_mlm_applied.clone()
            is_replaced[is_mlm_applied] = (pred_toks != labels[is_mlm_applied])

        disc_logits = self.discriminator(generated).squeeze(-1)
        return mlm_gen_logits, generated, disc_logits, is_replaced

    def sample(self, logits):
        return (logits.float() + self.gumbel_dist.sample(logits.shape)).argmax(dim=-1)


# %%
embeddings = nn.Embedding(vocab, hidden)  # shared
electra_model = ELECTRAModel(Encoder(embeddings, vocab), Encoder(embeddings, 1))
optimizer = torch.optim.Adam(electra_model.parameters(), lr=5e-4)

# %%
for step in range(2):
    labels = torch.randint(vocab - 1, (4, 10))
    is_mlm_applied = torch.rand(4, 10) < 0.3
    is_mlm_applied[:, 0] = True
    masked_inputs = labels.masked_fill(is_mlm_applied, mask_id)
    mlm_gen_logits, generated, disc_logits, is_replaced = electra_model(masked_inputs, is_mlm_applied, labels)
    gen_loss = F.cross_entropy(mlm_gen_logits.float(), labels[is_mlm_applied])
    disc_loss = F.binary_cross_entropy_with_logits(disc_logits, is_replaced.float())
    of_the_generator, = torch.autograd.grad(gen_loss, electra_model.generator.head.weight, retain_graph=True)  # a look
    loss = gen_loss + disc_loss * 50.0
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, gen_loss.item(), disc_loss.item())
