/** How a connection is chosen on SillyTavern's page, and what the page shows of it. */
export type Connection = {
  readonly name: string
  /** What is set on the way to the button that connects. */
  readonly changes: (url: string) => readonly (readonly [selector: string, value: string])[]
  readonly button: string
  /** The list of the server's models, where the page has one. */
  readonly list?: string | undefined
  /** What the page calls a model. */
  readonly nameOf: (model: string) => string
  /** The text that the page shows when it is connected, if it is not the model's name. */
  readonly status?: string
  readonly streaming: string
  readonly showsProbabilities: boolean
}

type TextCompletion = Partial<Connection> & { readonly name: string; readonly type: string; readonly url?: string }

function textCompletion({ type, url = type, ...rest }: TextCompletion): Connection {
  return {
    changes: (server) => [
      ['#main_api', 'textgenerationwebui'],
      ['#textgen_type', type],
      [`#${url}_api_url_text`, server],
    ],
    button: '#api_button_textgenerationwebui',
    nameOf: (model) => model,
    streaming: '#streaming_textgenerationwebui',
    showsProbabilities: true,
    ...rest,
  }
}

/** Those that reach a server of the user's own. */
export const connections: readonly Connection[] = [
  textCompletion({ name: 'tabbyAPI', type: 'tabby', list: '#tabby_model' }),
  textCompletion({ name: 'text-generation-webui', type: 'ooba', url: 'textgenerationwebui' }),
  textCompletion({ name: 'KoboldCpp', type: 'koboldcpp' }),
  textCompletion({ name: 'Aphrodite', type: 'aphrodite', list: '#aphrodite_model' }),
  textCompletion({ name: 'llama.cpp', type: 'llamacpp', list: '#llamacpp_model' }),
  // It does not ask for probabilities.
  textCompletion({
    name: 'Ollama',
    type: 'ollama',
    list: '#ollama_model',
    nameOf: (model) => `${model}:latest`,
    showsProbabilities: false,
  }),
  textCompletion({ name: 'vLLM', type: 'vllm', list: '#vllm_model' }),
  // It asks for them, and does not read them.
  textCompletion({ name: 'Generic', type: 'generic', showsProbabilities: false }),
  {
    name: 'Custom',
    changes: (server) => [
      ['#main_api', 'openai'],
      ['#chat_completion_source', 'custom'],
      ['#custom_api_url_text', `${server}/v1`],
    ],
    button: '#api_button_openai',
    list: '#model_custom_select',
    streaming: '#stream_toggle',
    nameOf: (model) => model,
    status: 'Valid',
    showsProbabilities: true,
  },
  {
    name: 'KoboldAI Classic',
    changes: (server) => [
      ['#main_api', 'kobold'],
      ['#api_url_text', `${server}/api`],
    ],
    button: '#api_button',
    streaming: '#streaming_kobold',
    nameOf: (model) => `koboldcpp/${model}`,
    showsProbabilities: false,
  },
]
