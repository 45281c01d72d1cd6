// Three servers at the addresses of the guide, each of which is the one at 127.0.0.1:8000.
import { connect, createServer } from 'node:net'

for (const address of ['10.0.0.1', '10.0.0.2', '10.0.0.3']) {
  const forward = (socket) => {
    const other = connect(8000, '127.0.0.1')
    socket.pipe(other).pipe(socket)
    socket.on('error', () => other.destroy())
    other.on('error', () => socket.destroy())
  }
  createServer(forward).listen(8000, address)
}
