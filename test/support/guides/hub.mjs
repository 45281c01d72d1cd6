// A mirror of Hugging Face for readers of a guide: each repository has one file, which is argv[2].
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

const file = readFileSync(process.argv[2])
const answer = ({ method, url }, response) => {
  if (url.startsWith('/api/models?')) response.end('[]')
  else if (url.includes('SmolLM2')) response.writeHead(404).end()
  else if (url.startsWith('/api/models/')) {
    const name = url.split('/')[4].replace(/-GGUF$/, '')
    response.end(JSON.stringify([{ type: 'file', path: `${name}-Q4_K_M.gguf`, size: file.length }]))
  } else {
    response.setHeader('content-length', file.length)
    response.end(method === 'HEAD' ? undefined : file)
  }
}
createServer(answer).listen(7999, '127.0.0.1')
