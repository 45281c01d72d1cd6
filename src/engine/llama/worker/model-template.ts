import type { LlamaModel } from 'node-llama-cpp'
import type { TemplateChoice } from '../../../contract/engine.ts'
import { type ModelFormat, recogniseFormat, visibleTexts } from '../../../model-text/model-format.ts'
import { type ChatTemplate, compileChatTemplate } from '../../../model-text/template/chat-template.ts'
import { chosenTemplate, noTemplate } from '../../template-choice.ts'
import { readVocabulary, type Vocabulary } from './vocabulary.ts'

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
}

/** The model's own template, and the format of calls in its configuration. */
export type TemplateSource = { readonly own: string | undefined; readonly toolFormat: string | undefined }

/** The part of a model that changes with its template; the weights stay loaded. */
export function readTemplatePart(
  model: LlamaModel,
  { own, toolFormat }: TemplateSource,
  choice: TemplateChoice = { type: 'own' },
): TemplatePart {
  const source = chosenTemplate(choice, own)
  const format = recogniseFormat(source, toolFormat)
  const { bosString, eosString } = model.tokens
  let compiled: ChatTemplate | undefined
  const template = () => {
    if (source === undefined) throw noTemplate(choice)
    const tokens = { bos: bosString ?? undefined, eos: eosString ?? undefined }
    compiled ??= compileChatTemplate(source, tokens, { toolFormat: format.toolFormat })
    return compiled
  }
  return { template, format, vocabulary: readVocabulary(model, visibleTexts(format)) }
}
