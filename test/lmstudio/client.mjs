// The calls of @lmstudio/sdk against the server at argv[3], with the SDK of the folder at argv[2]: a line of JSON for each.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [, , folder, server] = process.argv
const packages = createRequire(join(folder, 'package.json'))
const load = (name) => import(pathToFileURL(packages.resolve(name)).href)
const { LMStudioClient, tool } = await load('@lmstudio/sdk')
const { z } = await load('zod')

const client = new LMStudioClient({ baseUrl: server.replace('http', 'ws'), verboseErrorMessages: false })
const scripted = await client.llm.model('scripted', { verbose: false })
const tiny = await client.llm.model('tiny', { verbose: false })
const place = z.object({ city: z.enum(['Oslo', 'Rome']), sunny: z.boolean() })
const picture = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const calls = {
  async models() {
    const keys = (await client.system.listDownloadedModels()).map(({ modelKey }) => modelKey)
    const loaded = (await client.llm.listLoaded()).map(({ identifier }) => identifier)
    const { version } = await client.system.getLMStudioVersion()
    return [
      keys,
      loaded.includes('scripted'),
      (await scripted.getModelInfo()).modelKey,
      await tiny.getContextLength(),
      version !== '',
    ]
  },
  async respond() {
    const whole = await scripted.respond('hi', {
      temperature: 0.2,
      maxTokens: 50,
      stopStrings: ['END'],
      topKSampling: 40,
      minPSampling: 0.05,
    })
    let parts = ''
    for await (const { content } of scripted.respond('hi')) parts += content
    return [whole.content, parts, whole.stats.stopReason, whole.stats.predictedTokensCount]
  },
  structured: async () =>
    place.safeParse((await tiny.respond('A place, please.', { structured: place, maxTokens: 200 })).parsed).success,
  async tools() {
    const said = []
    const weather = tool({
      name: 'weather',
      description: 'The weather of a city.',
      parameters: { city: z.string() },
      implementation: ({ city }) => `${city}: 21 degrees`,
    })
    await scripted.act('How is the weather in Oslo?', [weather], { onMessage: (message) => said.push(message.getText()) })
    return said.at(-1)
  },
  async texts() {
    const tokens = await tiny.tokenize('Good morning.')
    const { embedding } = await (await client.embedding.model('tiny', { verbose: false })).embed('Good morning.')
    const { stats } = await tiny.complete('Good', { maxTokens: 2 })
    const template = await tiny.applyPromptTemplate([{ role: 'user', content: 'Good morning.' }])
    return [
      tokens.length === (await tiny.countTokens('Good morning.')),
      embedding.length,
      stats.stopReason,
      template.includes('Good morning.'),
    ]
  },
  async picture() {
    const image = await client.files.prepareImageBase64('a.png', picture)
    return (await scripted.respond([{ role: 'user', content: 'hi', images: [image] }])).content
  },
  async cancel() {
    const prediction = tiny.respond('Say all you know.', { temperature: 0, maxTokens: 250 })
    for await (const _ of prediction) await prediction.cancel()
    return (await prediction.result()).stats.stopReason
  },
  async loads() {
    const model = await client.llm.load('tiny', { identifier: 'second', config: { contextLength: 512 }, verbose: false })
    const found = [model.identifier, await model.getContextLength(), (await model.tokenize('Good morning.')).length > 0]
    const contextOf = async (contextLength) =>
      (await client.llm.model('tiny', { config: { contextLength }, verbose: false })).getContextLength()
    // The settings are for a model that is not loaded.
    found.push(await contextOf(8192))
    await model.unload()
    found.push(await contextOf(768))
    return found
  },
  async downloads() {
    const [found] = await client.repository.searchModels({ searchTerm: 'some' })
    const options = await found.getDownloadOptions()
    const sent = []
    const other = options.find((option) => !option.isRecommended())
    const key = await other.download({ onProgress: ({ downloadedBytes, totalBytes }) => sent.push(downloadedBytes / totalBytes) })
    const model = await client.llm.model(key, { verbose: false })
    return [
      found.name,
      options.map(({ quantization }) => quantization),
      sent.at(-1),
      // A random model may end after one token.
      (await model.complete('Good', { maxTokens: 2 })).stats.predictedTokensCount > 0,
    ]
  },
  async failures() {
    const failing = [
      () => client.llm.model('no-such-model', { verbose: false }),
      () => scripted.respond('hi', { contextOverflowPolicy: 'rollingWindow' }),
      () => client.system.unstable_setExperimentFlag('example', true),
    ]
    const words = []
    for (const call of failing)
      words.push(await Promise.resolve(call()).then(String, ({ message }) => message.replace(/[\s│]+/g, ' ')))
    return [/not found/, /never truncated/, /does not serve 'setExperimentFlag'/].map((wanted, index) =>
      wanted.test(words[index]),
    )
  },
}

for (const [name, call] of Object.entries(calls)) {
  const outcome = await call().then(
    (said) => ({ name, said }),
    (error) => ({ name, failure: String(error) }),
  )
  process.stdout.write(`${JSON.stringify(outcome)}\n`)
}
process.exit(0)
