// The calls of ollama for Node.js.
import { Ollama } from 'ollama'
import { drain, greeting, model, parameters, place, question, real, thought, weather, wish } from './said.mjs'

const tools = [{ type: 'function', function: { name: 'weather', description: 'The weather of a city.', parameters } }]
const fetched = 'hf.co/owner/small:Q8_0'
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

export function calls(url) {
  const ollama = new Ollama({ host: url })
  const chat = (more) => ollama.chat({ model, messages: greeting, ...more })
  const generate = (more) => ollama.generate({ model, prompt: 'hi', ...more })
  return {
    version: () => ollama.version(),
    'list of models': () => ollama.list(),
    'show a model': () => ollama.show({ model }),
    chat: () => chat({}),
    'chat, streamed': async () => drain(await chat({ stream: true })),
    'chat, tools': async () => {
      const { message } = await chat({ messages: question, tools })
      await chat({ messages: [...question, message, { role: 'tool', tool_name: 'weather', content: weather }], tools })
    },
    'chat, JSON schema': () => chat({ model: real, messages: wish, format: place }),
    'chat, JSON': () => chat({ model: real, messages: wish, format: 'json', options: { num_predict: 200 } }),
    'chat, thinking': () => chat({ messages: thought, think: true }),
    'chat, an image': () => chat({ messages: [{ role: 'user', content: 'hi', images: [pixel] }] }),
    'chat, options': () => chat({ options: { num_ctx: 8192, temperature: 0.8, top_k: 40, num_predict: 128 }, keep_alive: '5m' }),
    'chat, log-probabilities': () => chat({ logprobs: true, top_logprobs: 2 }),
    generate: () => generate({}),
    'generate, streamed': async () => drain(await generate({ stream: true })),
    embed: () => ollama.embed({ model, input: ['a', 'b'] }),
    embeddings: () => ollama.embeddings({ model, prompt: 'a' }),
    load: () => generate({ prompt: '', keep_alive: '1h' }),
    'loaded models': () => ollama.ps(),
    unload: () => generate({ model: real, prompt: '', keep_alive: 0 }),
    pull: () => ollama.pull({ model }),
    'pull, streamed': async () => drain(await ollama.pull({ model: fetched, stream: true })),
    push: () => ollama.push({ model }),
    copy: () => ollama.copy({ source: model, destination: 'another' }),
    create: () => ollama.create({ model: 'another', from: model }),
    delete: () => ollama.delete({ model: fetched }),
  }
}
