echo "the word is $APP_WORD"
exec python3 "$STANDIN"
