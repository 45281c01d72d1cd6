import { useEffect, useRef, useState } from 'preact/hooks'
import { describe } from '../../../api/client.ts'
import { chatTexts } from '../../../texts/chat.ts'
import { IconButton } from '../../../ui/button.tsx'
import { canRecord, type Recording, record } from './recorder.ts'

type RecordButtonProps = {
  readonly onRecorded: (file: File) => void
  readonly onProblem: (why: string) => void
}

/** Records with the microphone until it is pressed again. */
export function RecordButton({ onRecorded, onProblem }: RecordButtonProps) {
  const recording = useRef<Recording>(undefined)
  const [isOn, setOn] = useState(false)
  const [seconds, setSeconds] = useState(0)
  useEffect(() => {
    setSeconds(0)
    if (!isOn) return
    const timer = setInterval(() => setSeconds((before) => before + 1), 1000)
    return () => clearInterval(timer)
  }, [isOn])
  useEffect(() => () => recording.current?.cancel(), [])
  const toggle = async () => {
    try {
      if (recording.current === undefined) {
        recording.current = await record()
        setOn(true)
        return
      }
      const ending = recording.current
      recording.current = undefined
      setOn(false)
      onRecorded(new File([await ending.stop()], chatTexts.recordedName, { type: 'audio/wav' }))
    } catch (error) {
      setOn(false)
      onProblem(chatTexts.notRecorded(describe(error)))
    }
  }
  const isAllowed = canRecord()
  const name = !isAllowed ? chatTexts.recordNeedsHttps : isOn ? chatTexts.stopRecording : chatTexts.record
  return (
    <>
      <IconButton
        kind={isOn ? 'recording' : ''}
        icon="microphone"
        name={name}
        aria-pressed={isOn}
        disabled={!isAllowed}
        onClick={() => void toggle()}
      />
      {isOn && <span class="small muted">{chatTexts.recordedTime(seconds)}</span>}
    </>
  )
}
