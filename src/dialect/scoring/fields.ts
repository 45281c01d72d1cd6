import { type Field, refused, used } from '../wire/field-table.ts'

/** The request fields of `POST /v1/rerank`, as Jina, Cohere and llama-server have them. */
export const rerankFields: readonly Field[] = [
  used('model', 'an id or an alias of a model with a ranking head; absent: the first that is known to have one'),
  used('query', 'a string'),
  used('documents', 'strings, or objects with a `text`; at most 2048'),
  used('top_n', 'the number of best results in the reply; absent: all'),
  used('return_documents', 'default false; true: each result has its text'),
  refused('instruction', 'put it into the query', { accepts: [''] }),
  refused('max_tokens_per_doc', 'a text is never truncated', { aliases: ['max_chunks_per_doc', 'truncate_prompt_tokens'] }),
]

/** The request fields of `POST /v1/score/evaluation`, as LLaMA-Factory has them. */
export const scoreFields: readonly Field[] = [
  used(
    'model',
    "an id or an alias; absent: the default model; without a ranking head, a score is the sum of the log-probabilities of the text's tokens (`method`)",
  ),
  used('messages', 'complete texts, each scored separately; at most 2048'),
  used('max_length', 'the tokens of each text that are read (`truncated`); absent: all, and a text that is too long is refused'),
]
