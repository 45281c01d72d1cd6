import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../../../src/engine/llama-server/free-port.ts'
import { until } from '../until.ts'

/** Where Debian's package has it. */
const binary = '/usr/sbin/nginx'
export const hasNginx = existsSync(binary)
export const nginxHint = hasNginx ? '' : ' (skipped: install nginx-light)'

const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'] as const

type Nginx = { readonly url: string; close(): Promise<void> }

/**
 * An nginx on loopback with these locations, in one process, with TLS and a certificate that nobody knows if that is wanted. `around` is
 * what stands beside its server. Close it.
 */
export async function startNginx(locations: string, { hasTls = false, around = '' } = {}): Promise<Nginx> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-nginx-'))
  const port = await freePort()
  if (hasTls) await makeCertificate(folder)
  const tls = hasTls ? ` ssl; ssl_certificate ${folder}/cert.pem; ssl_certificate_key ${folder}/key.pem` : ''
  const config = `
daemon off; master_process off; pid ${folder}/pid; error_log stderr;
events {}
http {
  access_log off;
  ${kinds.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(' ')}
  ${around}
  server { listen 127.0.0.1:${port}${tls}; ${locations} }
}
`
  await writeFile(join(folder, 'nginx.conf'), config)
  const child = spawn(binary, ['-p', folder, '-e', 'stderr', '-c', join(folder, 'nginx.conf')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.on('data', (bytes: Buffer) => {
    said += bytes.toString()
  })
  await until(() => {
    if (child.exitCode !== null) throw new Error(`nginx has ended: ${said}`)
    return accepts(port)
  }, 20_000)
  return {
    url: `${hasTls ? 'https' : 'http'}://127.0.0.1:${port}`,
    close: async () => {
      const ended = once(child, 'exit')
      child.kill()
      await ended
      await rm(folder, { recursive: true })
    },
  }
}

/** Whether a connection is accepted. */
function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const done = (isAccepted: boolean) => {
      socket.destroy()
      resolve(isAccepted)
    }
    socket.once('connect', () => done(true)).once('error', () => done(false))
  })
}

async function makeCertificate(folder: string): Promise<void> {
  const files = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')]
  const name = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1']
  await promisify(execFile)('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...name, ...files])
}
