import type { ServiceInfo } from './replies.ts'

/**
 * The reply of `GET /.well-known/serviceinfo`, from which clients learn the kind of a server and its APIs. tabbyAPI calls the path of an
 * API `relative_url`; other servers with this route, such as KoboldCpp, call it `rel_url`.
 */
export function encodeServiceInfo(version: string): ServiceInfo {
  const api = (name: string, path: string) => ({ name, relative_url: path, rel_url: path, version: 1 })
  return {
    version: 0.1,
    software: { name: 'Dragoman', version },
    api: {
      openai: api('OpenAI API', '/v1'),
      anthropic: api('Anthropic API', '/v1'),
      ollama: api('Ollama API', '/api'),
      koboldai: api('KoboldAI API', '/api'),
      unsloth: api('Unsloth inference API', '/api/inference'),
    },
  }
}
