import { anthropic } from './chapter-anthropic.ts'
import { llamaServer } from './chapter-llama-server.ts'
import { llamaStack } from './chapter-llama-stack.ts'
import { kobold, lmStudio, otherLists, unsloth } from './chapter-local-servers.ts'
import { mlc } from './chapter-mlc.ts'
import { ollama } from './chapter-ollama.ts'
import { openai } from './chapter-openai.ts'
import { own } from './chapter-own.ts'
import { tabby } from './chapter-tabby.ts'
import type { Chapter } from './operation.ts'

/** The descriptions of all routes, by protocol. */
export const chapters: readonly Chapter[] = [
  openai,
  anthropic,
  ollama,
  llamaServer,
  kobold,
  tabby,
  mlc,
  lmStudio,
  otherLists,
  unsloth,
  llamaStack,
  own,
]
