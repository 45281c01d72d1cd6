import type { Check } from '../checks.ts'
import { post } from '../row.ts'

export const noPeers = 'for engines that hand prompts to each other; behind vLLM or SGLang their routers do it'

export const embed = (fields: object, ...checks: readonly Check[]) =>
  post('/v1/embeddings', { model: 'scripted', input: 'a b', ...fields }, ...checks)
