import { Template } from '@huggingface/jinja'
import { AppError, messageOf } from '../errors.ts'
import type { Prompt } from '../request.ts'
import { normalizeMessages } from './normalize-messages.ts'
import { encodeMessages, encodeTools, type TemplateMessage } from './template-messages.ts'
import { probeTraits, type TemplateTraits } from './template-traits.ts'

type ChatPrompt = Extract<Prompt, { type: 'chat' }>

/** The texts of the model's special tokens that templates may place themselves. */
export type TemplateTokens = { readonly bos?: string | undefined; readonly eos?: string | undefined }

/** A model's chat template, compiled and probed once. */
export type ChatTemplate = {
  readonly traits: TemplateTraits
  /** The prompt text, ending where the model's answer begins. Throws `template-failed` with the template's own words. */
  render(prompt: ChatPrompt): string
}

/**
 * Compiles a Jinja chat template as Hugging Face `transformers` defines them (`apply_chat_template`), and finds out by
 * rendering small conversations what it can express. Throws `template-failed` for a template that does not parse.
 */
export function compileChatTemplate(source: string, tokens: TemplateTokens): ChatTemplate {
  const template = parse(source)
  const render = (messages: readonly TemplateMessage[], tools: readonly unknown[]): string =>
    template.render({
      messages,
      tools: tools.length > 0 ? tools : null,
      documents: null,
      add_generation_prompt: true,
      bos_token: tokens.bos ?? '',
      eos_token: tokens.eos ?? '',
    })
  const traits = probeTraits(render)
  return {
    traits,
    render({ messages, tools }) {
      const encoded = encodeMessages(normalizeMessages(messages, traits), traits)
      try {
        return render(encoded, encodeTools(tools))
      } catch (error) {
        const message = `the model's chat template cannot render this conversation: ${messageOf(error)}`
        throw new AppError('template-failed', message, { param: 'messages', cause: error })
      }
    },
  }
}

function parse(source: string): Template {
  try {
    return new Template(source)
  } catch (error) {
    throw new AppError('template-failed', `the chat template does not parse: ${messageOf(error)}`, { cause: error })
  }
}
