// A step of npm run record-clients: has a chat over each connection of SillyTavern's page. Arguments: the address, and its installation.
import { connections } from './connections.ts'
import { openTavern } from './tavern.ts'

// It took too long.
process.once('SIGTERM', () => process.exit(1))
const [url = '', folder = ''] = process.argv.slice(2)
const tavern = await openTavern(folder)
try {
  for (const connection of connections) {
    await mark(`${connection.name}: a reply`)
    await tavern.connect(connection, { url, model: 'example-model' })
    await tavern.newChat()
    await tavern.wish(connection, { streams: false, probabilities: false })
    await tavern.send('Say hello.')
    await mark(`${connection.name}: streamed, token probabilities`)
    await tavern.wish(connection, { streams: true, probabilities: true })
    const { errors } = await tavern.send('Say hello.')
    if (errors.length > 0) console.log(`${connection.name}: ${errors.join('; ')}`)
  }
} finally {
  await tavern.close()
}

function mark(call: string): Promise<Response> {
  return fetch(`${process.env.CALL_MARKS}${encodeURIComponent(call)}`)
}
