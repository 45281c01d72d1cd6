import type { Field } from '../wire/field-table.ts'

/** The request fields of `POST /v1/rerank`, as Jina, Cohere and llama-server have them. */
export const rerankFields: readonly Field[] = [
  { name: 'model', treatment: 'used', note: 'an id or an alias of a model with a ranking head; absent: the default model' },
  { name: 'query', treatment: 'used', note: 'a string' },
  { name: 'documents', treatment: 'used', note: 'strings, or objects with a `text`; at most 2048' },
  { name: 'top_n', treatment: 'used', note: 'the number of best results in the reply; absent: all' },
  { name: 'return_documents', treatment: 'used', note: 'default false; true: each result has its text' },
  { name: 'instruction', treatment: 'refused', accepts: [''], note: 'put it into the query' },
  {
    name: 'max_tokens_per_doc',
    aliases: ['max_chunks_per_doc', 'truncate_prompt_tokens'],
    treatment: 'refused',
    note: 'a text is never truncated',
  },
]

/** The request fields of `POST /v1/score/evaluation`, as LLaMA-Factory has them. */
export const scoreFields: readonly Field[] = [
  {
    name: 'model',
    treatment: 'used',
    note: "an id or an alias; absent: the default model; without a ranking head, a score is the sum of the log-probabilities of the text's tokens (`method`)",
  },
  { name: 'messages', treatment: 'used', note: 'complete texts, each scored separately; at most 2048' },
  {
    name: 'max_length',
    treatment: 'used',
    note: 'the tokens of each text that are read (`truncated`); absent: all, and a text that is too long is refused',
  },
]
