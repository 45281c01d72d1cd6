import { getLlama, LlamaLogLevel } from 'node-llama-cpp'
import { llamaOptions } from '../../../src/engine/llama/worker/context/context.ts'
import { readTemplatePart } from '../../../src/engine/llama/worker/model/model-template.ts'
import { infillTokens } from '../../../src/engine/llama/worker/prompt/infill.ts'
import { renderSegments, tokenizeSegmentsNow } from '../../../src/engine/llama/worker/prompt/prompt.ts'
import { rankTokens } from '../../../src/engine/llama/worker/prompt/rank-tokens.ts'
import { attacksWith, type ChatRequest } from '../hostile/hostile-requests.ts'

export type ControlTokensAnswer = {
  readonly controlTexts: readonly string[]
  readonly attacks: number
  /** Attacks that changed the control tokens of the prompt. */
  readonly broken: readonly string[]
  /** Control tokens in the texts of a caller, by the kind of work. */
  readonly inTexts: Readonly<Record<string, number>>
}

/** Renders and tokenizes hostile requests with the vocabulary of a model. A process of its own: native code. */
process.once('message', async ({ modelPath }: { modelPath: string }) => {
  const llama = await getLlama({ ...llamaOptions, gpu: false, logLevel: LlamaLogLevel.error })
  const model = await llama.loadModel({ modelPath, vocabOnly: true })
  const part = readTemplatePart(model, { own: model.fileInfo.metadata.tokenizer.chat_template, settings: {} })
  const isControl = (token: number) => model.getTokenAttributes(token as never).control
  const controlsOf = (request: ChatRequest) =>
    tokenizeSegmentsNow(model, renderSegments(part, request).segments).filter(isControl).join(' ')
  const controlTexts = part.vocabulary.controlTexts
  const attacks = controlTexts.slice(0, 2).flatMap((token) => attacksWith(token))
  const broken = attacks.filter(({ request, clean }) => controlsOf(request) !== controlsOf(clean)).map(({ name }) => name)
  const all = controlTexts.join('')
  const count = (tokens: readonly number[]) => tokens.filter(isControl).length
  const without = rankTokens(model, { query: 'a' }, 'b')
  process.send?.({
    controlTexts,
    attacks: attacks.length,
    broken,
    inTexts: {
      completion: count(
        tokenizeSegmentsNow(model, renderSegments(part, { prompt: { type: 'text', text: all }, reasoning: {} }).segments),
      ),
      embedding: count(model.tokenize(all)),
      ranking: count(rankTokens(model, { query: all }, all)) - count(without),
      ...(model.tokens.infill.prefix !== null && {
        infill: count(infillTokens(model, { type: 'infill', prefix: all, suffix: all })) - 3,
      }),
    },
  } satisfies ControlTokensAnswer)
  process.disconnect?.()
})
