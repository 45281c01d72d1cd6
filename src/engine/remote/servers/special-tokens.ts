import type { TemplateTokens } from '../../../model-text/template/chat-template.ts'
import { asArray, asObject, asText, type Loose } from '../transport/loose-json.ts'
import { UpstreamError } from '../transport/upstream-error.ts'
import type { ProbedServer } from './abilities.ts'

/** The texts that a template prints for special tokens. `addsBos`: the server puts the first one before a prompt. */
export type SpecialTokens = Pick<TemplateTokens, 'bos' | 'eos'> & { readonly addsBos?: boolean }

/** Reads a llama-server's description of itself, which lacks only what a text shows. */
export async function readSpecialTokens(props: Loose, { client, endpoint, model, signal }: ProbedServer): Promise<SpecialTokens> {
  const [bos, eos] = [asText(props.bos_token), asText(props.eos_token)]
  if (bos === undefined || bos === '') return { eos }
  const body = { model, content: 'a', add_special: true, with_pieces: true }
  try {
    const reply = asObject(await client.ask(endpoint, { method: 'POST', path: '/tokenize', fromRoot: true, body }, signal))
    const first = asText(asObject(asArray(reply?.tokens)[0])?.piece)
    return { bos, eos, ...(first !== undefined && { addsBos: first === bos }) }
  } catch (error) {
    signal.throwIfAborted()
    // A router in front of it may not have the route.
    if (!(error instanceof UpstreamError)) throw error
    return { bos, eos }
  }
}
