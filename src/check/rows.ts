import { chat } from './probe/asks.ts'
import type { Ask, Server } from './probe/exchange.ts'
import type { Area, Row } from './probe/row.ts'
import { cancelRows } from './rows/cancel.ts'
import { chatRows, modelRows } from './rows/chat.ts'
import { clientRows } from './rows/clients.ts'
import { completionBase, completionRows } from './rows/completions.ts'
import { errorRows } from './rows/errors.ts'
import { limitRows } from './rows/limits.ts'
import { messageBase, messageRows } from './rows/messages.ts'
import { ollamaBase, ollamaRows } from './rows/ollama.ts'
import { responseBase, responseRows } from './rows/responses.ts'
import { samplingRows } from './rows/sampling.ts'
import { schemaRows } from './rows/schemas.ts'
import { streamRows } from './rows/streams.ts'
import { toolRows } from './rows/tools.ts'
import { usageRows } from './rows/usage.ts'
import { embeddingBase, embeddingRows, rankingBase, rankingRows } from './rows/vectors.ts'

/**
 * All checks, in the order in which they run: what matters most first, since the time is limited; but those of cancels last, since a server
 * that continues what was cancelled answers others late.
 */
export const rows: readonly Row[] = [
  ...modelRows,
  ...chatRows,
  ...streamRows,
  ...limitRows,
  ...toolRows,
  ...schemaRows,
  ...errorRows,
  ...usageRows,
  ...clientRows,
  ...responseRows,
  ...messageRows,
  ...samplingRows,
  ...completionRows,
  ...ollamaRows,
  ...embeddingRows,
  ...rankingRows,
  ...cancelRows,
]

/** The request that shows whether a server offers an area at all; the checks of one that it does not offer are not run. */
export const gates: Partial<Readonly<Record<Area, (server: Server) => Ask>>> = {
  chat,
  streams: chat,
  cancel: chat,
  limits: chat,
  tools: chat,
  schemas: chat,
  usage: chat,
  sampling: chat,
  completions: completionBase,
  responses: responseBase,
  messages: messageBase,
  ollama: ollamaBase,
  embeddings: embeddingBase,
  rerank: rankingBase,
}
