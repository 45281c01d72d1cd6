import { LruMap } from '../../../../base/lru-map.ts'
import type { FormatSettings } from '../../../../contract/output-format.ts'
import { type Prompt, plainChat, type ReasoningOptions } from '../../../../contract/request.ts'
import type { RequestTemplate, TemplateChoice } from '../../../../contract/template.ts'
import { type ModelFormat, recogniseFormat, visibleTexts } from '../../../../model-text/model-format.ts'
import { type ChatTemplate, compileChatTemplate, type TemplateTokens } from '../../../../model-text/template/chat-template.ts'
import { chosenTemplate, noTemplate, templateOf } from '../../../shared/template-choice.ts'
import { readVocabulary, type Vocabulary, type VocabularyModel } from '../sampling/vocabulary.ts'

/** The part of a loaded model that depends on its chat template. */
export type TemplatePart = {
  /**
   * The chat template, compiled at its first use: a template that is invalid, or never ends, fails chat requests and not the load.
   * Throws `template-failed`, also without a template.
   */
  readonly template: () => ChatTemplate
  /** The format of calls and reasoning under the template. */
  readonly format: ModelFormat
  readonly vocabulary: Vocabulary
  /** Whether the model may reason under this template if a request does not say. */
  readonly thinksByDefault: () => boolean
}

/** The model's own template, and what its configuration says of its format. */
export type TemplateSource = { readonly own: string | undefined; readonly settings: FormatSettings }

/** The part of a model that changes with its template; the weights stay loaded. */
export function readTemplatePart(
  model: VocabularyModel,
  { own, settings }: TemplateSource,
  choice: TemplateChoice = { type: 'own' },
): TemplatePart {
  const source = chosenTemplate(choice, own)
  const format = recogniseFormat(source, settings)
  let compiled: ChatTemplate | undefined
  const template = () => {
    if (source === undefined) throw noTemplate(choice)
    compiled ??= compileChatTemplate(source, tokensOf(model), format)
    return compiled
  }
  let thinks: boolean | undefined
  const thinksByDefault = () => {
    thinks ??= format.reasoning !== undefined && rendersThinking(template())
    return thinks
  }
  return { template, format, vocabulary: readVocabulary(model, visibleTexts(format)), thinksByDefault }
}

/** Finds the part of a model under the template of a request. */
export type TemplateParts = (template: RequestTemplate) => TemplatePart

/** Each scans the whole vocabulary, which takes a tenth of a second. */
const keptParts = 8

/** Keeps what the most recently requested templates need of a model. */
export function createTemplateParts(model: VocabularyModel, source: TemplateSource): TemplateParts {
  const parts = new LruMap<string, TemplatePart>({ max: keptParts })
  return (template) =>
    parts.find(template.type === 'own' ? 'own' : `named ${template.source}`, () => readTemplatePart(model, source, template))
}

type Templated = TemplatePart & { readonly templateParts: TemplateParts }

/** A model as a request with a template of its own sees it. */
export function underTemplate<M extends Templated>(model: M, template: RequestTemplate | undefined): M {
  return template === undefined ? model : { ...model, ...model.templateParts(template) }
}

/** A model as a prompt sees it. */
export function forPrompt<M extends Templated>(model: M, prompt: Prompt): M {
  return underTemplate(model, templateOf(prompt))
}

function tokensOf({ tokens, fileInfo }: VocabularyModel): TemplateTokens {
  const { tokens: texts = [], padding_token_id: pad, unknown_token_id: unk } = fileInfo.metadata.tokenizer.ggml
  const textOf = (id: number | undefined) => (id === undefined ? undefined : texts[id])
  return { bos: tokens.bosString ?? undefined, eos: tokens.eosString ?? undefined, pad: textOf(pad), unk: textOf(unk) }
}

const probe: Extract<Prompt, { type: 'chat' }> = {
  type: 'chat',
  ...plainChat,
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
}

/** A template with a switch renders without it as with one of its positions; one without a switch is for a model that always reasons. */
function rendersThinking(template: ChatTemplate): boolean {
  const render = (reasoning: ReasoningOptions) => template.render(probe, { reasoning }).text
  try {
    const [on, off, absent] = [{ enabled: true }, { enabled: false }, {}].map(render)
    return on === off || absent !== off
  } catch {
    // The request's own conversation shows what is wrong.
    return true
  }
}
